"""One agent for each framework, with a model that says what `script` has.

Each module runs in the environment of its framework, and gives `agent`.
"""
