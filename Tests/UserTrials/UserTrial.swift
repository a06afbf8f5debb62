import SluiceAccess
import SluiceModel
package import SluiceStorage
import Synchronization

/// Something that holds of every store of users, and is tried on each: on a file and in memory by `SluiceAccessTests`, in
/// the tables of a cluster by `SluicePostgresTests`.
package struct UserTrial: Sendable, CustomStringConvertible {
    package let description: String
    private let body: @Sendable (UserBench) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (UserBench) async throws -> Void) {
        self.description = description
        self.body = body
    }

    /// - Throws: what does not hold.
    package func run(_ bench: UserBench) async throws { try await body(bench) }

    package static var all: [UserTrial] { records + logins + revocations }
}

/// An empty store of users, as two processes have it open, and a clock.
package struct UserBench: Sendable {
    package let store: any UserStore
    /// The same users, as another process has them; the same store if there is no other.
    package let another: any UserStore
    let clock = TrialClock()

    package init(_ store: any UserStore, another: (any UserStore)? = nil) {
        self.store = store
        self.another = another ?? store
    }

    var now: Int64 { clock.now.microseconds }

    /// Hashes passwords at little cost.
    static func parameters(costExponent: Int = 4) -> PasswordHash.Parameters {
        PasswordHash.Parameters(costExponent: costExponent, blockSize: 8, parallelism: 1)
    }

    static func hash(_ password: String) throws -> String {
        guard let hash = PasswordHash(of: Array(password.utf8), parameters: parameters()) else {
            throw TrialFailure("no hash")
        }
        return hash.text
    }

    func directory(of store: (any UserStore)? = nil, costExponent: Int = 4) -> UserDirectory {
        UserDirectory(store ?? self.store, parameters: Self.parameters(costExponent: costExponent)) { [clock] in
            clock.now
        }
    }

    func add(_ name: String, _ password: String, claims: String = "{}") throws {
        let user = UserRecord(name: name, password: try Self.hash(password), claims: claims, createdAt: 0)
        try expect(try store.write(about: name) { try $0.add(user) })
    }
}

/// A clock that only a trial moves.
final class TrialClock: Sendable {
    private let time = Mutex<Int64>(1_700_000_000_000_000)

    var now: Timestamp { Timestamp(microseconds: time.withLock { $0 }) }

    func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }
}

struct TrialFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// - Throws: if a condition does not hold.
func expect(_ holds: Bool, _ what: String = "", file: String = #fileID, line: Int = #line) throws {
    if !holds { throw TrialFailure("\(file):\(line) does not hold\(what.isEmpty ? "" : ": \(what)")") }
}

extension UserDirectory {
    func logIn(
        _ name: String, _ password: String, from address: String = "1", wantsToken: Bool = true
    ) async -> Result<Admission, LoginRefusal> {
        await withCheckedContinuation { continuation in
            logIn(name: name, password: Array(password.utf8), from: address, wantsToken: wantsToken) {
                continuation.resume(returning: $0)
            }
        }
    }

    func logIn(_ token: String) async -> Result<Admission, LoginRefusal> {
        await withCheckedContinuation { continuation in
            logIn(token: Array(token.utf8)) { continuation.resume(returning: $0) }
        }
    }

    func admit(_ identity: LoginIdentity) async -> LoginIdentity? {
        await withCheckedContinuation { continuation in
            admit(identity) { continuation.resume(returning: try? $0.get().identity) }
        }
    }

    func standing(of identity: LoginIdentity) throws -> LoginStanding { try standings(of: [identity])[0] }
}

extension Result where Success == Admission, Failure == LoginRefusal {
    var refusal: LoginRefusal? { if case .failure(let error) = self { error } else { nil } }

    /// The session token that came with an admission.
    var token: String {
        get throws {
            guard let token = try get().sessionToken else { throw TrialFailure("no session token") }
            return token
        }
    }
}
