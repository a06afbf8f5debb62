import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Realm's permissions: lists of the database, of classes and of objects.
    struct PermissionListTests {
        private typealias Note = Lists.Note
        private typealias Permission = Lists.Permission
        private typealias Role = Lists.Role
        private typealias User = Lists.User
        private typealias ClassPermission = Lists.ClassPermission
        private typealias DatabasePermission = Lists.DatabasePermission
        private typealias Part = Lists.Part
        private typealias Whole = Lists.Whole

        private static let models: [any Model.Type] = [
            Note.self, Permission.self, Role.self, User.self, ClassPermission.self, DatabasePermission.self,
        ]

        private static let rules = """
            {"roles": {"root": "$user.claims.role == 'root'"},
             "database": {"schema": "$role.root", "permissionLists": true},
             "classes": {
              "Note": {"permissionLists": "permissions"},
              "Permission": {"read": true, "create": true, "update": true, "delete": true},
              "Role": {"read": true, "create": "$role.root", "update": "$role.root OR ANY members.id == $user.id",
                       "delete": "$role.root"},
              "User": {"read": true, "create": "$role.root"},
              "ClassPermission": {"read": true, "create": true, "update": true, "delete": true},
              "DatabasePermission": {"read": true, "create": true, "update": true, "delete": true}}}
            """

        private let server: TestServer
        /// Belongs to every role of its own.
        private let root: Store

        /// Users ada, bob and root; roles of the same names, and everyone.
        init() async throws {
            try await self.init(rules: Self.rules)
        }

        private init(rules: String) async throws {
            server = try TestServer(rules: rules)
            root = try await server.open(Self.models, user: "root", claims: #"{"role": "root"}"#)
            try await root.write { tx in
                for name in ["ada", "bob", "root"] {
                    try tx.insert(User(id: name))
                    try tx.insert(Role(name: name, members: [Link(key: name)]))
                }
                try tx.insert(Role(name: "everyone"))
            }
            try await root.uploaded()
        }

        private func open(_ user: String?) async throws -> Store { try await server.open(Self.models, user: user) }

        /// Writes, and waits for what the server says of it.
        private func write(_ store: Store, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Void)
            async throws
        {
            try await store.write(body)
            try await store.uploaded()
        }

        private func notes(_ user: String?) async throws -> [String] {
            try await open(user).objects(Note.self).synced().map(\.id).sorted()
        }

        private func allow(
            _ id: String, _ role: String, read: Bool = false, query: Bool = false, create: Bool = false,
            update: Bool = false, delete: Bool = false, set: Bool = false, schema: Bool = false
        ) -> Permission {
            Permission(
                id: id, role: Link(key: role), canRead: read, canQuery: query, canCreate: create, canUpdate: update,
                canDelete: delete, canSetPermissions: set, canModifySchema: schema)
        }

        private func everything(_ id: String, _ role: String) -> Permission {
            allow(
                id, role, read: true, query: true, create: true, update: true, delete: true, set: true, schema: true)
        }

        /// The server's note, read by somebody who may do everything to it.
        private func text(_ id: String, _ user: String = "root") async throws -> String? {
            try await open(user).objects(Note.self).synced().first { $0.id == id }?.text
        }

        // MARK: Levels

        @Test func withoutListsEverybodyMayDoEverything() async throws {
            let ada = try await open("ada")
            try await write(ada) { try $0.insert(Note(id: "n", text: "one")) }
            let nobody = try await open(nil)
            _ = try await nobody.objects(Note.self).synced()
            try await write(nobody) { try $0.update(Note(id: "n")) { $0.text = "two" } }
            #expect(try await text("n") == "two")
        }

        @Test func aListTakesAwayWhatItDoesNotGiveEvenFromWhoMadeIt() async throws {
            let ada = try await open("ada")
            let results = ada.objects(Note.self)
            #expect(try await results.synced().isEmpty)
            let forBob = allow("p", "bob", read: true)
            try await write(ada) { tx in
                try tx.insert(forBob)
                try tx.insert(Note(id: "n", permissions: [Link(key: "p")]))
            }
            #expect(try await results.synced().isEmpty)
            #expect(try await notes("bob") == ["n"])
            #expect(try await notes("root").isEmpty)
            #expect(try await notes(nil).isEmpty)
        }

        @Test func theRoleEveryoneReachesAlsoAUserWithoutAnID() async throws {
            let forAll = allow("p", "everyone", read: true)
            try await write(root) { tx in
                try tx.insert(forAll)
                try tx.insert(Note(id: "n", permissions: [Link(key: "p")]))
            }
            #expect(try await notes(nil) == ["n"])
            #expect(try await notes("ada") == ["n"])
        }

        @Test func rightsOfAllRolesOfAUserAddUp() async throws {
            let (read, write) = (allow("p", "everyone", read: true), allow("q", "ada", update: true))
            try await self.write(root) { tx in
                try tx.insert(read)
                try tx.insert(write)
                try tx.insert(Note(id: "n", permissions: [Link(key: "p"), Link(key: "q")]))
            }
            for user in ["ada", "bob"] {
                let store = try await open(user)
                _ = try await store.objects(Note.self).synced()
                try await self.write(store) { try $0.update(Note(id: "n")) { $0.text += user } }
            }
            #expect(try await text("n", "ada") == "ada")
        }

        @Test func whatAClassDoesNotGiveNoObjectGives() async throws {
            let ada = try await open("ada")
            try await write(ada) { try $0.insert(Note(id: "n", text: "one")) }
            let (reads, all) = (allow("p", "everyone", read: true, query: true), everything("q", "root"))
            try await write(root) { tx in
                try tx.insert(reads)
                try tx.insert(all)
                try tx.insert(ClassPermission(name: "Note", permissions: [Link(key: "p"), Link(key: "q")]))
            }
            // No update, no creation, no deletion: the local write succeeds, and the server takes it back.
            _ = try await ada.objects(Note.self).synced()
            try await write(ada) { try $0.update(Note(id: "n")) { $0.text = "two" } }
            #expect(try ada.object(Note.self, key: "n")?.text == "one")
            try await write(ada) { try $0.insert(Note(id: "m")) }
            #expect(try ada.object(Note.self, key: "m") == nil)
            try await write(ada) { try $0.delete(Note(id: "n")) }
            #expect(try ada.object(Note.self, key: "n")?.text == "one")
            // root may.
            _ = try await root.objects(Note.self).synced()
            try await write(root) { try $0.insert(Note(id: "r")) }
            #expect(try await notes("bob") == ["n", "r"])
        }

        @Test(arguments: [(true, false), (false, true)])
        func aClassThatMayNotBeReadOrQueriedSeemsEmpty(_ flags: (read: Bool, query: Bool)) async throws {
            try await write(root) { try $0.insert(Note(id: "n")) }
            #expect(try await notes("ada") == ["n"])
            let (some, all) = (
                allow("p", "everyone", read: flags.read, query: flags.query, create: true), everything("q", "root")
            )
            try await write(root) { tx in
                try tx.insert(some)
                try tx.insert(all)
                try tx.insert(ClassPermission(name: "Note", permissions: [Link(key: "p"), Link(key: "q")]))
            }
            #expect(try await notes("ada").isEmpty)
            #expect(try await notes("root") == ["n"])
        }

        @Test func whatTheDatabaseDoesNotGiveNoClassGives() async throws {
            let ada = try await open("ada")
            try await write(ada) { try $0.insert(Note(id: "n", text: "one")) }
            let (reads, all) = (allow("p", "ada", read: true), everything("q", "root"))
            try await write(root) { tx in
                try tx.insert(reads)
                try tx.insert(all)
                try tx.insert(DatabasePermission(id: 0, permissions: [Link(key: "p"), Link(key: "q")]))
            }
            #expect(try await notes("ada") == ["n"])
            #expect(try await notes("bob").isEmpty)
            #expect(try await notes(nil).isEmpty)
            try await write(ada) { try $0.update(Note(id: "n")) { $0.text = "two" } }
            #expect(try await text("n") == "one")
        }

        @Test func theDatabaseSaysWhoAddsClasses() async throws {
            let rules = Self.rules.replacingOccurrences(of: #""schema": "$role.root", "#, with: "")
            let server = try TestServer(rules: Self.rules)
            let root = try await server.open(Self.models, user: "root", claims: #"{"role": "root"}"#)
            let (some, all) = (allow("p", "bob", read: true, update: true), everything("q", "root"))
            try await root.write { tx in
                for name in ["ada", "bob", "root"] {
                    try tx.insert(User(id: name))
                    try tx.insert(Role(name: name, members: [Link(key: name)]))
                }
                try tx.insert(some)
                try tx.insert(all)
                try tx.insert(DatabasePermission(id: 0, permissions: [Link(key: "p"), Link(key: "q")]))
            }
            try await root.uploaded()
            try await server.restart(rules: rules)
            let schema = try Schema([
                ClassSchema("Added", primaryKey: "id", properties: [Property("id", .scalar(.int))])
            ])
            let bob = try await server.open(schema: schema, user: "bob", declaring: false)
            let error = await #expect(throws: SyncError.self) {
                try await bob.records(ofClass: "Added").synced(timeout: .seconds(60))
            }
            #expect(error?.code == .notPermitted)
            let other = try await server.open(schema: schema, user: "root", declaring: false)
            #expect(try await other.records(ofClass: "Added").synced().isEmpty)
        }

        @Test func withTransitiveReadingALinkIsEnough() async throws {
            let lists = #""permissionLists": "permissions"}"#
            let rules = Self.rules.replacingOccurrences(
                of: lists, with: lists + #", "Part": {"transitive": true, "# + lists)
            #expect(rules != Self.rules)
            let server = try TestServer(
                rules: rules.replacingOccurrences(
                    of: #""User": {"#, with: #""Whole": {"read": true, "create": true, "update": true}, "User": {"#))
            let models = Self.models + [Whole.self, Part.self]
            let root = try await server.open(models, user: "root", claims: #"{"role": "root"}"#)
            let nobody = Permission(id: "p", role: Link(key: "root"))
            try await write(root) { tx in
                try tx.insert(User(id: "root"))
                try tx.insert(Role(name: "root", members: [Link(key: "root")]))
                try tx.insert(nobody)
                try tx.insert(Part(id: "part", permissions: [Link(key: "p")]))
                try tx.insert(Whole(id: "whole", part: Link(key: "part")))
            }
            let ada = try await server.open(models, user: "ada")
            #expect(try await ada.objects(Part.self).synced().count == 1)
            try await write(root) { try $0.update(Whole(id: "whole")) { $0.part = nil } }
            #expect(try await server.open(models, user: "ada").objects(Part.self).synced().isEmpty)
        }

        // MARK: The ceiling of grants

        /// A note that ada may do some things to.
        private func world(_ forAda: Permission) async throws -> Store {
            let all = everything("all", "root")
            try await write(root) { tx in
                try tx.insert(forAda)
                try tx.insert(all)
                try tx.insert(Note(id: "n", permissions: [Link(key: forAda.id), Link(key: "all")]))
            }
            let ada = try await open("ada")
            _ = try await ada.objects(Note.self).synced()
            _ = try await ada.objects(Permission.self).synced()
            return ada
        }

        private func permissions(_ user: String) async throws -> [String] {
            let store = try await open(user)
            let permissions = try await store.objects(Note.self).synced().first?.permissions.fetchAll().map(\.id) ?? []
            await store.close()
            return permissions
        }

        @Test func nobodyGivesWhatHeHasNot() async throws {
            let ada = try await world(allow("p", "ada", read: true, update: true, set: true))
            for (id, given) in [
                ("delete", allow("delete", "bob", delete: true)),
                ("mixed", allow("mixed", "bob", read: true, delete: true)),
            ] {
                try await write(ada) { tx in
                    try tx.insert(given)
                    try tx.update(Note(id: "n")) { $0.permissions.append(Link(key: id)) }
                }
                #expect(try await permissions("root") == ["p", "all"])
            }
            let reads = allow("reads", "bob", read: true, query: true, schema: true)
            try await write(ada) { tx in
                try tx.insert(reads)
                try tx.update(Note(id: "n")) { $0.permissions.append(Link(key: "reads")) }
            }
            #expect(try await notes("bob") == ["n"])
        }

        @Test func whoMayNotSetPermissionsChangesNoList() async throws {
            let ada = try await world(allow("p", "ada", read: true, update: true, delete: true))
            let reads = allow("reads", "bob", read: true)
            try await write(ada) { tx in
                try tx.insert(reads)
                try tx.update(Note(id: "n")) { $0.permissions.append(Link(key: "reads")) }
            }
            try await write(ada) { try $0.update(Note(id: "n")) { $0.permissions = [] } }
            try await write(ada) { try $0.update(Permission(id: "all")) { $0.canRead = false } }
            try await write(ada) { try $0.delete(Permission(id: "all")) }
            #expect(try await permissions("root") == ["p", "all"])
            #expect(try await notes("bob").isEmpty)
        }

        @Test func aPermissionThatIsInUseGainsNoRightThatItsWriterLacks() async throws {
            let ada = try await world(allow("p", "ada", read: true, update: true, set: true))
            try await write(ada) { try $0.update(Permission(id: "p")) { $0.canDelete = true } }
            #expect(try ada.object(Permission.self, key: "p")?.canDelete == false)
            try await write(ada) { try $0.delete(Note(id: "n")) }
            #expect(try await notes("root") == ["n"])
            // A permission that is put into the list first and gains its rights later.
            let empty = Permission(id: "late", role: Link(key: "bob"))
            try await write(ada) { tx in
                try tx.insert(empty)
                try tx.update(Note(id: "n")) { $0.permissions.append(Link(key: "late")) }
            }
            #expect(try await permissions("root") == ["p", "all", "late"])
            try await write(ada) { try $0.update(Permission(id: "late")) { $0.canDelete = true } }
            #expect(try ada.object(Permission.self, key: "late")?.canDelete == false)
            try await write(ada) { try $0.update(Permission(id: "late")) { $0.canRead = true } }
            #expect(try await notes("bob") == ["n"])
        }

        @Test func aPermissionThatComesAfterTheLinkToItIsJudgedToo() async throws {
            let ada = try await world(allow("p", "ada", read: true, update: true, set: true))
            try await write(ada) { try $0.update(Note(id: "n")) { $0.permissions.append(Link(key: "later")) } }
            let later = allow("later", "ada", read: true, delete: true)
            try await write(ada) { try $0.insert(later) }
            #expect(try ada.object(Permission.self, key: "later") == nil)
            try await write(ada) { try $0.delete(Note(id: "n")) }
            #expect(try await notes("root") == ["n"])
        }

        @Test func theRoleOfAPermissionNeverChanges() async throws {
            let ada = try await world(everything("p", "ada"))
            try await write(ada) { try $0.update(Permission(id: "p")) { $0.role = Link(key: "everyone") } }
            #expect(try ada.object(Permission.self, key: "p")?.role == Link(key: "ada"))
            #expect(try await notes("bob").isEmpty)
        }

        @Test func emptyingAListNeedsEveryRight() async throws {
            let ada = try await world(allow("p", "ada", read: true, update: true, set: true))
            try await write(ada) { try $0.update(Note(id: "n")) { $0.permissions = [] } }
            #expect(try await permissions("root") == ["p", "all"])
            try await write(ada) { tx in
                try tx.delete(Permission(id: "p"))
                try tx.delete(Permission(id: "all"))
            }
            #expect(try await permissions("root") == ["p", "all"])
            _ = try await root.objects(Note.self).synced()
            try await write(root) { try $0.update(Note(id: "n")) { $0.permissions = [] } }
            #expect(try await notes("bob") == ["n"])
        }

        @Test func theListOfAClassIsForWhoMaySetPermissionsOfTheClass() async throws {
            let (reads, all) = (
                allow("p", "everyone", read: true, query: true, update: true), everything("q", "root")
            )
            try await write(root) { tx in
                try tx.insert(reads)
                try tx.insert(all)
                try tx.insert(ClassPermission(name: "Note", permissions: [Link(key: "p"), Link(key: "q")]))
            }
            let ada = try await open("ada")
            _ = try await ada.objects(ClassPermission.self).synced()
            _ = try await ada.objects(Permission.self).synced()
            try await write(ada) { try $0.update(Permission(id: "p")) { $0.canCreate = true } }
            #expect(try ada.object(Permission.self, key: "p")?.canCreate == false)
            try await write(ada) { try $0.delete(ClassPermission(name: "Note")) }
            #expect(try ada.object(ClassPermission.self, key: "Note")?.permissions.count == 2)
            _ = try await root.objects(Permission.self).synced()
            try await write(root) { try $0.update(Permission(id: "p")) { $0.canCreate = true } }
            try await write(ada) { try $0.insert(Note(id: "n")) }
            #expect(try await notes("bob") == ["n"])
        }

        @Test func whoMayUpdateARoleSaysWhoBelongsToIt() async throws {
            let ada = try await world(allow("p", "ada", read: true))
            #expect(try await notes("bob").isEmpty)
            _ = try await ada.objects(Role.self).synced()
            try await write(ada) { try $0.update(Role(name: "ada")) { $0.members.append(Link(key: "bob")) } }
            #expect(try await notes("bob") == ["n"])
        }
    }
#endif
