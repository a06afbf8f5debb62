/// The moment at which a turn of a database began.
struct DatabaseMoment: Sendable {
    let database: String
    let version: UInt64
}
