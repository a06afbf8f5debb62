/// Who may read and do what: members of a team share its documents, and everybody keeps what he wrote himself.
let rules = """
    {"user":  {"teams": "Team WHERE ANY members.id == $user.id"},
     "roles": {"manager": "$user.claims.role == 'manager'"},
     "database": {"schema": "$role.manager"},
     "classes": {
       "Person":   {"read": true, "create": "$role.manager"},
       "Team":     {"read": true, "create": "$role.manager", "update": "$role.manager"},
       "Document": {"read": "team IN $user.teams OR author.id == $user.id OR $role.manager",
                    "create": "author.id == $user.id OR $role.manager",
                    "update": "team IN $user.teams OR author.id == $user.id"}}}
    """
