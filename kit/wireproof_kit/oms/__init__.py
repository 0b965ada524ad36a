"""What the kit needs to judge OpenMessaging documents."""
