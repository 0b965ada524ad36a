"""Write Allure results and sites: the same for a bundle and for pytest with allure-pytest."""
