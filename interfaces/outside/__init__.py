"""Calls to addresses that somebody has named: to none that may not be called, and to exactly what was checked."""
