import SluiceStorage
import Synchronization

extension UserTrial {
    static let records = [
        UserTrial("users") { try await $0.usersAreAddedOnceChangedAndRemoved() },
        UserTrial("names") { try await $0.namesAreComparedAndOrderedByTheirBytes() },
        UserTrial("awkward names") { try await $0.whateverIdsOthersGiveAreRevokedByTheirBytes() },
        UserTrial("logins") { try await $0.loginsAreFoundByAnyOfTheirTokensAndIdsAreGivenOnce() },
        UserTrial("unused logins") { try await $0.loginsThatAreUnusedGoAndUseNeverGoesBack() },
        UserTrial("a transfer") { try await $0.allOfAStoreComesIntoAnother() },
        UserTrial("a write that throws") { try await $0.nothingIsLeftOfAWriteThatThrows() },
        UserTrial("writes at once") { try await $0.writesAboutOneUserSeeEachOther() },
    ]
}

extension UserBench {
    private func users() throws -> [String] {
        try another.read { try $0.users().map { "\($0.user.name) \($0.loginCount)" } }
    }

    func usersAreAddedOnceChangedAndRemoved() async throws {
        let ada = UserRecord(name: "ada", password: "one", generation: 3, claims: #"{"é":"😀"}"#, createdAt: 17)
        try expect(try store.write(about: "ada") { try $0.add(ada) })
        let again = UserRecord(name: "ada", password: "x", createdAt: 0)
        try expect(try !another.write(about: "ada") { try $0.add(again) })
        try expect(try another.read { try $0.user("ada") } == ada)
        try expect(try store.write(about: "ada") { try $0.setPassword("two", of: "ada") })
        try store.write(about: "ada") { try $0.replaceHash("three", of: "ada", generation: 3) }
        try expect(try another.read { try $0.user("ada")?.password } == "two")
        try store.write(about: "ada") { try $0.replaceHash("three", of: "ada", generation: 4) }
        let changed = try another.read { try $0.user("ada") }
        try expect(changed?.password == "three" && changed?.generation == 4 && changed?.createdAt == 17)
        for change: @Sendable (any UserRecords) throws -> Bool in [
            { try $0.setPassword("x", of: "eve") }, { try $0.setClaims("{}", of: "eve") },
            { try $0.remove("eve", now: 1) },
        ] {
            try expect(try !store.write(about: "eve", change))
        }
        try expect(try store.read { try $0.revocation(of: "eve") } == nil)
        try expect(try store.write(about: "ada") { try $0.remove("ada", now: 5) })
        try expect(try another.read { try $0.user("ada") } == nil)
        try expect(try another.read { try $0.revocation(of: "ada") } == 5)
    }

    func allOfAStoreComesIntoAnother() async throws {
        let file = try UserFile(nil)
        let ada = UserRecord(name: "ada", password: "one", generation: 3, claims: #"{"a":1}"#, createdAt: 17)
        let bob = UserRecord(name: "bob", password: "two", createdAt: 18)
        try file.write(about: "ada") { records in
            _ = try records.add(ada)
            _ = try records.add(bob)
            let id = try records.addLogin(of: "ada", hash: [1], now: 20)
            try records.update(
                LoginRecord(
                    id: id, userName: "ada", hash: [1], nextHash: [2], previousHash: [3], madeAt: 21, usedAt: 22))
            _ = try records.addLogin(of: "bob", hash: [4], now: 20)
            try records.revoke("eve", now: 40)
            try records.noteLead(of: "mallory", until: 90, now: 50)
        }
        let others = UserRecord(name: "bob", password: "another", createdAt: 1)
        try expect(try store.write(about: "bob") { try $0.add(others) })
        try store.write(about: "eve") { try $0.revoke("eve", now: 30) }
        let moved = try UserTransfer.copy(from: file, to: store)
        try expect(moved.copied == ["ada"] && moved.known == ["bob"])
        try expect(try another.read { try $0.users().map(\.user) } == [ada, others])
        let login = try another.read { try $0.login(hash: [2]) }
        try expect(login?.user == ada && login?.login.usedAt == 22 && login?.login.previousHash == [3])
        try expect(try another.read { try $0.login(hash: [4]) } == nil)
        try expect(try another.read { try $0.revocation(of: "eve") } == 40)
        try store.write(about: "mallory") { try $0.revoke("mallory", now: 60) }
        try expect(try another.read { try $0.revocation(of: "mallory") } == 90)
        // And back, into a store that has nothing.
        let copy = try UserFile(nil)
        _ = try UserTransfer.copy(from: another, to: copy)
        try expect(try copy.read { try $0.users().map(\.user) } == [ada, others])
        try expect(try copy.read { try $0.login(hash: [3])?.user } == ada)
        try expect(try copy.read { try $0.revocations(of: ["eve", "mallory"]) } == [40, 90])
    }

    func namesAreComparedAndOrderedByTheirBytes() async throws {
        // The two last are the same to Swift: one letter, and a letter with a mark.
        let names = ["Ada", "ada", "b", "Z", "ä", "z", "\u{1F600}", "e\u{301}", "\u{E9}"]
        for name in names {
            let user = UserRecord(name: name, password: "of \(Array(name.utf8))", createdAt: 0)
            try expect(try store.write(about: name) { try $0.add(user) }, name)
        }
        for name in names {
            try expect(try another.read { try $0.user(name)?.password } == "of \(Array(name.utf8))", name)
        }
        let listed = try another.read { try $0.users().map { Array($0.user.name.utf8) } }
        try expect(listed == names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
        try store.write(about: names[7]) { try $0.revoke(names[7], now: 9) }
        try expect(try another.read { try $0.revocations(of: [names[8], names[7], names[8]]) } == [nil, 9, nil])
    }

    func whateverIdsOthersGiveAreRevokedByTheirBytes() async throws {
        let names = [
            "corp:7", "a\\b", "a\\\\b", "a\\0b", "a\\", "", " ", "'; DROP TABLE users --", "a\u{1}b", "\u{10FFFF}",
        ]
        for (number, name) in names.enumerated() {
            try store.write(about: name) { try $0.revoke(name, now: Int64(number)) }
        }
        let all = names + ["a", "corp"]
        let expected = names.indices.map { Int64?(Int64($0)) } + [nil, nil]
        try expect(try another.read { try $0.revocations(of: all) } == expected)
        try expect(try another.read { try $0.revocations(of: []) }.isEmpty)
        try expect(try another.read { try $0.logins([]) }.isEmpty)
    }

    func loginsAreFoundByAnyOfTheirTokensAndIdsAreGivenOnce() async throws {
        try add("ada", "correct horse")
        func addLogin(_ hash: UInt8) throws -> Int64 {
            try store.write(about: "ada") { try $0.addLogin(of: "ada", hash: [hash], now: 7) }
        }
        let (first, second) = (try addLogin(1), try addLogin(2))
        var login = LoginRecord(
            id: first, userName: "ada", hash: [1], nextHash: nil, previousHash: nil, madeAt: 7, usedAt: 7)
        try expect(try another.read { try $0.login(hash: [1])?.login } == login)
        (login.hash, login.nextHash, login.previousHash) = ([3], [4, 0], [0, 5])
        (login.madeAt, login.usedAt) = (8, 9)
        let changed = login
        try store.write(about: "ada") { try $0.update(changed) }
        for hash: [UInt8] in [[3], [4, 0], [0, 5]] {
            let found = try another.read { try $0.login(hash: hash) }
            try expect(found?.login == changed && found?.user.name == "ada", "\(hash)")
        }
        try expect(try another.read { try $0.login(hash: [1]) } == nil)
        let found = try another.read { try $0.logins([second, 999, first, second]) }
        try expect(found.map { $0?.login.id } == [second, nil, first, second])
        try expect(try users() == ["ada 2"])
        try store.write(about: "ada") { try $0.removeLogin(id: second) }
        try expect(try another.read { try $0.logins([second, first]) }.map { $0 == nil } == [true, false])
        try expect(try addLogin(6) > second)
        // The logins of one who was removed do not come back with the name.
        try expect(try store.write(about: "ada") { try $0.remove("ada", now: 1) })
        try add("ada", "correct horse")
        try expect(try users() == ["ada 0"])
    }

    func loginsThatAreUnusedGoAndUseNeverGoesBack() async throws {
        try add("ada", "correct horse")
        let ids = try (1...3).map { number in
            try store.write(about: "ada") { try $0.addLogin(of: "ada", hash: [UInt8(number)], now: Int64(number) * 10) }
        }
        try store.read { try $0.noteUse(of: [ids[0], ids[2]], at: 25) }
        let used = try another.read { try $0.logins(ids) }.map { $0?.login.usedAt }
        try expect(used == [25, 20, 30], "\(used)")
        try store.write(about: "ada") { try $0.removeLogins(unusedSince: 25) }
        try expect(try another.read { try $0.logins(ids) }.map { $0 != nil } == [true, false, true])
    }

    func nothingIsLeftOfAWriteThatThrows() async throws {
        try add("ada", "correct horse")
        do {
            try store.write(about: "ada") { records in
                _ = try records.setClaims(#"{"a":1}"#, of: "ada")
                try records.revoke("ada", now: 4)
                throw TrialFailure("on purpose")
            }
            throw TrialFailure("nothing was thrown")
        } catch let failure as TrialFailure { try expect(failure.description == "on purpose", "\(failure)") }
        try expect(try another.read { try $0.user("ada")?.claims } == "{}")
        try expect(try another.read { try $0.revocation(of: "ada") } == nil)
        try expect(try store.write(about: "ada") { try $0.setClaims("[]", of: "ada") })
    }

    func writesAboutOneUserSeeEachOther() async throws {
        let stores = [store, another]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                let store = stores[number % 2]
                group.addTask { try store.write(about: "ada") { try $0.revoke("ada", now: 1) } }
            }
            try await group.waitForAll()
        }
        try expect(try store.read { try $0.revocation(of: "ada") } == 40)
    }
}
