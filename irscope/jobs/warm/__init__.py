"""Cache folders that production uses whole: `irscope warm` builds, checks and moves them."""
