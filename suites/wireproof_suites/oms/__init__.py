"""Cases on OpenMessaging documents."""
