"""The promise: the account, the rules and the certificate. All that the guarantee rests on; standard library only.

Which option is played between the limits is decided elsewhere. A bad choice there costs money and cannot break the promise.
"""
