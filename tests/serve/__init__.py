"""The app in a browser: who may connect, what a client may send, and what is left afterwards."""
