"""Allure results and sites, the same from a bundle and from pytest with allure-pytest."""
