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
        _ = try made.add(UserRecord(name: "ann", password: "none", createdAt: 1))
        _ = try made.addLogin(of: "ann", hash: token.hash, now: 1_000)
        try made.noteLead(of: "bob", until: 5_000, now: 1_000)
        try made.revoke("bob", now: 1_000)
        made.close()
        let cells = try IntegerCells(folder + "/made")
        let path = folder + "/case/users"
        var cases: [(cell: IntegerCells.Cell, value: String)] = []
        cells.forEachCase(blobCaseCount: 0) { cases.append(($0, $1)) }
        #expect(cases.count > 30)
        for (cell, value) in cases where try cells.write(to: path, cell, value) {
            LastCase.note("a file of users' \(cell.name): \(value)")
            guard let users = try? UserDirectory(path, now: { Timestamp(microseconds: 700_000_000_000) }) else {
                continue
            }
            let identity = LoginIdentity(userID: "ann", method: .session, loginID: 1, generation: 0)
            _ = try? users.standing(of: identity)
            await withCheckedContinuation { continuation in
                users.logIn(token: Array(token.text.utf8)) { _ in continuation.resume() }
            }
            _ = try? users.access { try $0.users().map { "\(Timestamp(microseconds: $0.user.createdAt))" } }
            _ = try? users.access { try $0.noteLead(of: "bob", until: 9_000, now: 8_000) }
            _ = try? users.revoke("bob")
            _ = try? users.revoke("ann")
            users.close()
        }
    }
}
