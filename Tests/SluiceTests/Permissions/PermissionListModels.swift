import Sluice

#if SLUICE_MACROS
    /// The classes of the lists, named as Realm names them.
    enum Lists {
        @Model struct Note {
            @PrimaryKey var id: String
            var text = ""
            var next: Link<Note>?
            var permissions: Links<Permission> = []
        }

        @Model struct Permission {
            @PrimaryKey var id: String
            var role: Link<Role>?
            var canRead = false
            var canQuery = false
            var canCreate = false
            var canUpdate = false
            var canDelete = false
            var canSetPermissions = false
            var canModifySchema = false
        }

        @Model struct Role {
            @PrimaryKey var name: String
            var members: Links<User> = []
        }

        @Model struct User {
            @PrimaryKey var id: String
        }

        @Model struct ClassPermission {
            @PrimaryKey var name: String
            var permissions: Links<Permission> = []
        }

        @Model struct DatabasePermission {
            @PrimaryKey var id: Int
            var permissions: Links<Permission> = []
        }

        @Model struct Part {
            @PrimaryKey var id: String
            var permissions: Links<Permission> = []
        }

        @Model struct Whole {
            @PrimaryKey var id: String
            var part: Link<Part>?
        }
    }
#endif
