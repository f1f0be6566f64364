"""Register pressure: which registers are live at each instruction, and which Python values they hold."""
