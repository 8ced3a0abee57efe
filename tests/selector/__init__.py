"""Tests of selector."""
