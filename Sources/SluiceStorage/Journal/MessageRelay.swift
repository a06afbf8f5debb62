/// Carries ephemeral messages between the servers of a cluster. Any of them may be lost. Those of one server arrive at each
/// other in their order, and none twice.
package protocol MessageRelay: Sendable {
    /// Sends messages to the other servers. Any thread may call it; it returns at once.
    ///
    /// - Parameters:
    ///   - messages: frames, each with one message, as the server would send it to a client.
    ///   - name: the database whose clients they are for.
    func send(_ messages: [[UInt8]], inDatabase name: String)

    /// Begins to receive what others send, for databases whose journals this server has open. The server calls it once,
    /// before it asks for a journal.
    ///
    /// - Parameter hear: called by any thread; it returns at once.
    func receive(_ hear: @escaping @Sendable (_ messages: [[UInt8]], _ database: String) -> Void)
}
