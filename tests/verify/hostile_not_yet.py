NOT_YET = {}
