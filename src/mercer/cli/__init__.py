"""The command line. `main` knows the verbs; each verb has a file of its own, loaded when it is called."""
