"""Cases of other folders, repeated in another partition and on an upgraded topic."""
