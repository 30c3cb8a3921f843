"""The engine of a cluster: devices are workers of Dask's ``distributed``. Imported only where one is asked for."""
