"""`irscope report`: one HTML page with everything in it, made of what the other reports are made of."""
