"""Tests of service.page."""
