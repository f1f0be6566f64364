"""Reports as HTML and SVG: `irscope report` is one page that loads nothing else."""
