"""An editor and an evaluation of your own: copy one and change it."""
