/// Brings the users of one store into another.
package enum UserTransfer {
    /// Copies users with their passwords, claims and logins, and what was revoked. Users whom the target has stay as they
    /// are there. O(users and logins).
    ///
    /// - Returns: the users who were copied, and those whom the target had.
    /// - Throws: ``StorageError`` when a store cannot be read or written. What was copied by then stays.
    package static func copy(
        from source: any UserStore, to target: any UserStore
    ) throws -> (copied: [String], known: [String]) {
        let (users, logins, dates) = try source.read { records in
            (try records.users().map(\.user), try records.allLogins(), try records.allDates())
        }
        let loginsByUser = Dictionary(grouping: logins, by: \.userName)
        var (copied, known): ([String], [String]) = ([], [])
        // First what is over, so that it is at no time not.
        for dates in dates { try target.write(about: dates.name) { try $0.note(dates) } }
        for user in users {
            let isNew = try target.write(about: user.name) { records in
                guard try records.add(user) else { return false }
                for login in loginsByUser[user.name] ?? [] {
                    var login = login
                    login.id = try records.addLogin(of: user.name, hash: login.hash, now: login.madeAt)
                    try records.update(login)
                }
                return true
            }
            if isNew { copied.append(user.name) } else { known.append(user.name) }
        }
        return (copied, known)
    }
}
