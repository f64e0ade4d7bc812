// Draws the OpenAPI document. Trying calls out is off: a call that changes a record belongs to a program or the console.
const place = document.getElementById("api-docs");

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  deepLinking: true,
  supportedSubmitMethods: [],
  validatorUrl: null,
});
