"""An example of a plug-in of irscope."""
