"""Allure results of one run: the same for a bundle and for plain pytest with allure-pytest."""
