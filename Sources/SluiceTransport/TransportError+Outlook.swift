extension TransportError {
    /// Whether trying again later, with nothing changed, may succeed.
    package enum Outlook: Hashable, Sendable {
        /// It may: a restart, a broken line or an overload makes such a failure.
        case passing
        /// Something else than the server has answered. The address is wrong, or something stands before the server for
        /// a while: a proxy, a load balancer, a captive portal. Whoever has reached the server at the address before may
        /// try again.
        case unclear
        /// It may not: certificates, credentials, protocols or the configuration decide.
        case lasting

        /// The outlook of an upgrade that was answered with a status other than 101.
        init(answeredWith status: Int) {
            self =
                switch status {
                // The request took too long, came too early, or too often; or the server has a problem.
                case 408, 425, 429, 500...: .passing
                // A gateway wants credentials.
                case 401, 407: .lasting
                default: .unclear
                }
        }
    }
}
