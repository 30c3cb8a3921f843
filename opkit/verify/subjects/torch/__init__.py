"""Subjects of torch: ``torch.autograd.Function``, ``torch.library.custom_op``, plain functions and Modules.

Imported only when a user's file has imported torch.
"""
