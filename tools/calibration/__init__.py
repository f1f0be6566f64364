"""Programs that fit irscope's estimates to measurements and compare them with a GPU (docs/estimates.md)."""
