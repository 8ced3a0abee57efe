"""The promise: the account, the rules and the certificate. All that the guarantee rests on; the standard library only.

Which option is played between the limits is decided elsewhere, and may be decided badly: that costs money and can never
cost the promise.
"""
