"""A machine whose ranks are started by mpirun, for ReFrame."""
site_configuration = {
    'systems': [{
        'name': 'here',
        'descr': 'this machine',
        'hostnames': ['.*'],
        'partitions': [{
            'name': 'default', 'scheduler': 'local', 'launcher': 'mpirun', 'environs': ['builtin'],
        }],
    }],
    'environments': [{'name': 'builtin'}],
}
