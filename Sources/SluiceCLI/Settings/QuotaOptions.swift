internal import SluiceServer

/// The options of `serve` that say how much one user, one address or one database may take.
enum QuotaOptions {
    static let options: [OptionDescription] = [
        .value("max-connections-per-address", "N", "connections at a time from one address", default: "10000"),
        .value("max-sessions-per-user", "N", "open sessions of one user", default: "10000"),
        .value("max-subscriptions-per-user", "N", "subscriptions of one user in one database"),
        .value("max-operations-per-second", "N", "operations that one user uploads in a second; faster ones wait"),
        .value("max-waiting-bytes-per-user", "SIZE", "bytes that wait to be sent to one user, such as 16M"),
        .value("max-databases", "N", "databases of the server", default: "1000"),
        .value("max-database-size", "SIZE", "the size of a database's file, such as 10G"),
        .value("max-consumer-log", "SIZE", "the log that is kept for consumers that are behind", default: "1G"),
        .value("max-classes", "N", "classes of a database"),
        .value("max-properties", "N", "properties of all classes of a database"),
    ]

    /// Sets what the options say.
    static func apply(_ arguments: ParsedArguments, to quotas: inout Quotas) throws(CommandError) {
        if let count = try count(arguments, "max-connections-per-address") {
            quotas.connectionCountMaxPerAddress = count
        }
        if let count = try count(arguments, "max-sessions-per-user") { quotas.sessionCountMaxPerUser = count }
        quotas.subscriptionCountMaxPerUser = try count(arguments, "max-subscriptions-per-user")
        quotas.operationRateMaxPerUser = try count(arguments, "max-operations-per-second")
        quotas.queueByteCountMaxPerUser = try size(arguments, "max-waiting-bytes-per-user")
        if let count = try count(arguments, "max-databases") { quotas.databaseCountMax = count }
        quotas.databaseByteCountMax = try size(arguments, "max-database-size", min: Quotas.databaseByteCountMin, "1M")
        if let size = try size(arguments, "max-consumer-log") { quotas.consumerLogByteCountMax = size }
        quotas.classCountMax = try count(arguments, "max-classes")
        quotas.propertyCountMax = try count(arguments, "max-properties")
    }

    private static func count(_ arguments: ParsedArguments, _ name: String) throws(CommandError) -> Int? {
        guard let text = arguments.value(name) else { return nil }
        guard let count = Int(text), count > 0 else {
            throw .usage("--\(name) is a whole number above 0, and '\(text)' is none")
        }
        return count
    }

    /// - Parameters:
    ///   - min: the least size, in bytes.
    ///   - minText: the same as it is written.
    private static func size(
        _ arguments: ParsedArguments, _ name: String, min: Int = 1, _ minText: String = ""
    ) throws(CommandError) -> Int? {
        guard let text = arguments.value(name) else { return nil }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let shifts = ["": 0, "K": 10, "M": 20, "G": 30, "T": 40]
        guard let number = Int(digits), number > 0, let shift = shifts[text.dropFirst(digits.count).uppercased()],
            case let (bytes, isOver) = number.multipliedReportingOverflow(by: 1 << shift), !isOver
        else { throw .usage("--\(name) is a size such as 64K, 16M, 10G or 1T, and '\(text)' is none") }
        guard bytes >= min else { throw .usage("--\(name) is \(minText) or more, and '\(text)' is less") }
        return bytes
    }
}
