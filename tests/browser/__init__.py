"""The browser example in headless Chromium: python -m pytest -m slow tests/browser"""
