import SluiceAccess
import SluiceModel
import SluiceStorage
import Testing

extension ExtremeNumberTests {
    @Test func aFileOfUsersWithWhateverIntegersIsReadOrRefused() async throws {
        let token = SessionToken()
        let folder = try makeFolder()
        defer { removeFolder(folder) }
        let made = try UserFile(folder + "/made")
        try made.write(about: "ann") { records in
            _ = try records.add(UserRecord(name: "ann", password: "none", createdAt: 1))
            _ = try records.addLogin(of: "ann", hash: token.hash, now: 1_000)
            try records.noteLead(of: "bob", until: 5_000, now: 1_000)
            try records.revoke("bob", now: 1_000)
        }
        made.close()
        let cells = try IntegerCells(folder + "/made")
        let path = folder + "/case/users"
        var cases: [(cell: IntegerCells.Cell, value: String)] = []
        cells.forEachCase(blobCaseCount: 0) { cases.append(($0, $1)) }
        #expect(cases.count > 30)
        for (cell, value) in cases where try cells.write(to: path, cell, value) {
            LastCase.note("a file of users' \(cell.name): \(value)")
            guard let file = try? UserFile(path) else { continue }
            let users = UserDirectory(file, now: { Timestamp(microseconds: 700_000_000_000) })
            let identity = LoginIdentity(userID: "ann", method: .session, loginID: 1, generation: 0)
            _ = try? users.standings(of: [identity])
            await withCheckedContinuation { continuation in
                users.logIn(token: Array(token.text.utf8)) { _ in continuation.resume() }
            }
            _ = try? file.read { try $0.users().map { "\(Timestamp(microseconds: $0.user.createdAt))" } }
            try? file.write(about: "bob") { try $0.noteLead(of: "bob", until: 9_000, now: 8_000) }
            try? users.revoke("bob")
            try? users.revoke("ann")
            users.close()
        }
    }
}
