internal import SluiceWire

/// Asks the server what the user may do, and keeps the answers that last until the user's rights change.
final class PrivilegeAnswers {
    private let requests: ServerRequests
    private var known: [String: [UInt8]] = [:]
    /// How often the user's rights may have changed. An answer to an earlier question may be that of before.
    private var generation: UInt64 = 0
    private static let countMax = 1_000

    init(_ requests: ServerRequests) { self.requests = requests }

    /// - Parameter isLasting: whether only other rights make another answer.
    func ask(_ question: String, isLasting: Bool, reply: @escaping ServerRequests.Reply) {
        if isLasting, let answer = known[question] { return reply(.success(answer)) }
        let asked = generation
        requests.report(.privileges(question)) { [weak self] result in
            if isLasting, case .success(let answer) = result, let self, generation == asked {
                if known.count >= Self.countMax { known = [:] }
                known[question] = answer
            }
            reply(result)
        }
    }

    /// Forgets what was answered, since the user's rights have changed or the session has ended.
    func forget() {
        known = [:]
        generation += 1
    }
}
