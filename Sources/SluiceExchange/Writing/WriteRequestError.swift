/// What is wrong with a line of `sluice write`: where, and what would be right.
package struct WriteRequestError: Error, Hashable {
    package let message: String

    package init(message: String) { self.message = message }

    static func failure(_ message: String) -> WriteRequestError { WriteRequestError(message: message) }
}
