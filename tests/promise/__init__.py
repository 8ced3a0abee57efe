"""Tests of promise."""
