/// Objects that a client keeps without a subscription: those that it offers, or those of them that are not there for its
/// user: they may not be read, or do not exist. Which of both it is, is not said.
package struct KeptObjects: Hashable, Sendable {
    package var session: UInt64
    /// The number of the offer, which the client chooses, above 0, and the answer repeats; 0 where a commit has made the
    /// difference.
    package var request: UInt64
    /// Keys, without values and roles.
    package var content: ObjectBlock

    package init(session: UInt64, request: UInt64, content: ObjectBlock) {
        self.session = session
        self.request = request
        self.content = content
    }
}
