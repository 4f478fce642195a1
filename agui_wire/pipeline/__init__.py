"""The stages between decoded events and the application (protocol page "processing")."""
