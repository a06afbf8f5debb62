internal import Glibc

/// What the audit log calls the accounts of the machine.
package enum OperatorName {
    /// `operator NAME`; the account's number where it has no name.
    ///
    /// - Parameter user: the number of the account; nil if it is not known.
    package static func text(of user: UInt32?) -> String {
        guard let user else { return "operator" }
        let name = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 14) { buffer -> String? in
            var entry = passwd()
            // Points to `entry`, whose texts are in the buffer, and is only compared with null.
            var found: UnsafeMutablePointer<passwd>?
            guard getpwuid_r(user, &entry, buffer.baseAddress!, buffer.count, &found) == 0, found != nil else {
                return nil
            }
            return entry.pw_name.map { String(cString: $0) }
        }
        return "operator \(name ?? "\(user)")"
    }
}
