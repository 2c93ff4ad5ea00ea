"""What every server of ours shares: listening, impatience with slow connections, guarded answers.

guarded      headers on every answer, no error but in our words, bodies of a limited size
listening    a socket, and the room for connections that the limit of open files leaves
serving      runs an application until the process is told to stop
"""
