internal import SluiceServer

/// The options of `serve` that concern web pages.
enum WebOptions {
    static let options: [OptionDescription] = [
        .value(
            "allow-origin", "URL", "web pages that may connect, by their origin, such as https://app.example",
            isRepeatable: true),
        .flag("dashboard", "serve the dashboard at /_/; --dev always does"),
    ]

    /// Sets what the options say.
    static func apply(_ arguments: ParsedArguments, to configuration: inout ServerConfiguration) throws(CommandError) {
        configuration.servesDashboard = arguments.flag("dashboard")
        configuration.allowedOrigins = []
        for text in arguments.values("allow-origin") {
            guard let origin = WebOrigin(text) else {
                throw .usage(
                    "--allow-origin is the scheme, host and port of web pages, such as https://app.example or "
                        + "http://localhost:5173, and not '\(DisplayText.shortened(text))'")
            }
            configuration.allowedOrigins.append(origin)
        }
    }
}
