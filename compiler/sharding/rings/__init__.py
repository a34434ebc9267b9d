"""Attention over keys of many devices, one device's after the other.

rewrite.py   where it is possible: from keys and values that are gathered to such as go round
sights.py    which keys a mask may let queries see, by positions alone
"""
