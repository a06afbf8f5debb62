import Foundation
import Sluice
import SluiceServer

/// Two teams, and an editor who changes team while offline: what leaves, what comes, and why.
@main struct SharedDocuments {
    static func main() async throws {
        var configuration = ServerConfiguration(port: 0)
        configuration.rules = rules
        // A real server has users with passwords, or an issuer of tokens. Here the name is the token.
        configuration.logins.custom = { request in
            guard case .token(let name) = request else { return nil }
            return LoginUser(id: name, claims: name == "max" ? #"{"role": "manager"}"# : "{}")
        }
        let server = try SyncServer(configuration)
        let url = "ws://127.0.0.1:\(try server.start())/documents"
        let file = FileManager.default.temporaryDirectory.path + "/shared-documents-\(UUID().uuidString).sluice"
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) } }

        let manager = try await open("max", url)
        try await prepare(manager)
        try await edit(file, url)
        try await change(file, manager)
        try await comeBack(file, url)

        await manager.close()
        await server.stop()
    }

    private static func open(_ user: String, _ url: String, file: String? = nil) async throws -> Store {
        try await Store.open(
            StoreConfiguration(
                path: file, models: [Person.self, Team.self, Document.self],
                sync: SyncConfiguration(url: url, credentials: .jwt(user))))
    }

    private static func prepare(_ manager: Store) async throws {
        step("Max, the manager, makes two teams with a document each. Eva is in the team of the magazine.")
        try await manager.write { transaction in
            let eva = Person(id: "eva")
            try transaction.insert(eva)
            let (magazine, books) = (Team(name: "magazine", members: [Link(eva)]), Team(name: "books"))
            try transaction.insert(magazine)
            try transaction.insert(books)
            try transaction.insert(Document(title: "cover", text: "a lighthouse", team: Link(magazine)))
            try transaction.insert(Document(title: "editorial", team: Link(magazine), author: Link(eva)))
            try transaction.insert(Document(title: "novel", text: "chapter one", team: Link(books)))
        }
        try await manager.uploaded(timeout: .seconds(30))
    }

    private static func edit(_ file: String, _ url: String) async throws {
        step("Eva opens all documents, and gets those that she may read.")
        let eva = try await open("eva", url, file: file)
        let documents = eva.objects(Document.self).sorted(by: "title")
        let found = try await documents.synced(timeout: .seconds(30))
        say("Eva has \(found.map(\.title).joined(separator: ", "))")
        await eva.close()
    }

    private static func change(_ file: String, _ manager: Store) async throws {
        step("Eva is offline, and writes. Meanwhile Max moves her to the books.")
        // Nobody listens there.
        let eva = try await open("eva", "ws://127.0.0.1:1/documents", file: file)
        try await eva.write { transaction in
            for title in ["cover", "editorial"] {
                guard let document = try transaction.object(Document.self, key: title) else { continue }
                try transaction.update(document) { $0.text = "by Eva, on a train" }
            }
        }
        await eva.close()
        let teams = try await manager.objects(Team.self).synced(timeout: .seconds(30))
        try await manager.write { transaction in
            for team in teams {
                try transaction.update(team) { $0.members = team.name == "books" ? [Link(Person(id: "eva"))] : [] }
            }
        }
        try await manager.uploaded(timeout: .seconds(30))
    }

    private static func comeBack(_ file: String, _ url: String) async throws {
        step("Eva comes back. To who was away, the server does not tell whether an object is hidden or gone.")
        let eva = try await open("eva", url, file: file)
        let documents = eva.objects(Document.self).sorted(by: "title")
        for try await change in documents.changes {
            for removal in change.removals {
                say("leaves: \(removal.identity.key), because of \(removal.reason)")
            }
            if !change.isInitial { for index in change.insertions { say("comes: \(change.results[index].title)") } }
            guard change.state == .complete else { continue }
            for document in change.results { say("Eva has \(document.title): \(document.text)") }
            break
        }
        await eva.close()
    }

    private static func step(_ text: String) { print("\n\(text)") }

    private static func say(_ text: String) { print("  \(text)") }
}
