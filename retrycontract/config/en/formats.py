"""How times are written where Django writes them itself, in the admin: as the desk does, by 24 hours."""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i:s"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = f"{DATE_FORMAT} H:i:s T"
